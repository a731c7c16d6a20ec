"""temporary"""
from relay.ir.expr import *
from relay.ir.expr import Clause
from relay.ir.walk import run
def normal(f, type_of):
    def block(e):
        out = []
        known = {}
        def atom(e):
            if isinstance(e, Var|Constant|GlobalVar|Op|Constructor): return e
            if e in known: return known[e]
            v = yield val(e)
            t = type_of(e)
            x = Var("t", t); out.append((x, v)); known[e] = x
            return x
        def val(e):
            match e:
                case Call():
                    op = e.op if isinstance(e.op, Op|Constructor|GlobalVar) else (yield atom(e.op))
                    args = []
                    for a in e.args: args.append((yield atom(a)))
                    return replace(e, op=op, args=tuple(args))
                case Tuple(fields):
                    args = []
                    for a in fields: args.append((yield atom(a)))
                    return Tuple(args)
                case Function(): return e.rebuild(((yield block(e.body)),))
                case If(c,a,b): return If((yield atom(c)), (yield block(a)), (yield block(b)))
                case Match():
                    d = yield atom(e.data)
                    cs = []
                    for c in e.clauses: cs.append(Clause(c.lhs, (yield block(c.rhs))))
                    return Match(d, tuple(cs), e.complete)
                case Let()|LetRec():
                    while isinstance(e, Let|LetRec):
                        if isinstance(e, Let):
                            out.append((e.var, (yield val(e.value))))
                        else:
                            vs = []
                            for v in e.values: vs.append((yield val(v)))
                            out.append((e.vars, vs))
                        e = e.body
                    return (yield val(e))
                case _:
                    if e.children:
                        cs = []
                        for c in e.children: cs.append((yield atom(c)))
                        return e.rebuild(tuple(cs))
                    return e
        r = yield val(e)
        for x, v in reversed(out):
            r = Let(x, v, r) if isinstance(x, Var) else LetRec(x, tuple(v), r)
        return r
    return f.rebuild((run(block(f.body)),))
