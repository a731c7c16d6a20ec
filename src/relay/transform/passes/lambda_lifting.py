"""Lambda lifting: functions inside of definitions become definitions."""

from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.lifting import lifted
from relay.transform.rewriting.registry import module_pass


@module_pass("lambda_lift", needs=(ANF,), gives=(ANF,), public="LambdaLift")
def lambda_lift(mod: IRModule) -> IRModule:
    """Turn each inner function into a definition that takes its captured variables as arguments.

    Calls pass these along.  Where such a function is used as a value, a partial application remains: a
    function that only calls the definition.  Fused functions stay.

    >>> show(lambda_lift, '''
    ... def @main(%x: int32) {
    ...   let %add = fn(%y: int32) { %x + %y };
    ...   (%add(2), %add)
    ... }
    ... ''')
    def @main(%x: int32) -> (int32, fn(int32) -> int32) {
      let %add: fn(int32) -> int32 = fn (%y: int32) -> int32 { @main_add(%x, %y) };
      let %x1: int32 = @main_add(%x, 2i32);
      (%x1, %add)
    }
    <BLANKLINE>
    def @main_add(%x: int32, %y: int32) -> int32 {
      %x + %y
    }
    """
    return lifted(mod, GlobalVarSupply(mod))
