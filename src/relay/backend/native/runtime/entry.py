"""The way in and out of compiled code: a stack of its own, and a way back for failures; as assembly text."""

from relay.backend.native.memory.objects import SAVED, STACK

_X86 = f"""
.text
.globl relay_enter
.globl relay_try
.globl relay_fail
.globl relay_outside
.p2align 4
relay_enter:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, {SAVED}(%rdi)
  movq %rdi, %r12
  movq {STACK}(%rdi), %rax
  movq %rax, %rsp
  callq *%rsi
  movq {SAVED}(%r12), %rsp
  xorl %eax, %eax
relay_leave:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
relay_try:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, {SAVED}(%rdi)
  subq $8, %rsp
  movq %rsi, %rax
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %rcx
  movq %r9, %r8
  callq *%rax
  addq $8, %rsp
  xorl %eax, %eax
  jmp relay_leave
relay_outside:
  pushq %rbp
  movq %rsp, %rbp
  movq {SAVED}(%rdi), %rsp
  andq $-16, %rsp
  callq *%rsi
  movq %rbp, %rsp
  popq %rbp
  retq
relay_fail:
  movq {SAVED}(%rdi), %rsp
  movl $1, %eax
  jmp relay_leave
"""
_ARM = f"""
.text
.globl relay_enter
.globl relay_try
.globl relay_fail
.globl relay_outside
.p2align 4
relay_enter:
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0, #{SAVED}]
  mov x19, x0
  ldr x9, [x0, #{STACK}]
  mov sp, x9
  blr x1
  ldr x9, [x19, #{SAVED}]
  mov w0, #0
relay_leave:
  mov sp, x9
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
relay_try:
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0, #{SAVED}]
  mov x9, x1
  mov x1, x2
  mov x2, x3
  mov x3, x4
  mov x4, x5
  blr x9
  mov x9, sp
  mov w0, #0
  b relay_leave
relay_outside:
  stp x29, x30, [sp, #-16]!
  mov x29, sp
  ldr x9, [x0, #{SAVED}]
  mov sp, x9
  blr x1
  mov sp, x29
  ldp x29, x30, [sp], #16
  ret
relay_fail:
  ldr x9, [x0, #{SAVED}]
  mov w0, #1
  b relay_leave
"""
BY_MACHINE = {"x86_64": _X86, "aarch64": _ARM}


def assembly(machine: str) -> str:
    """`relay_enter(context, function)`, `relay_try(context, body, env, begin, end, lane)`,
    `relay_fail(context)` and `relay_outside(context, function)` for a machine, as lines of LLVM IR.

    The first calls the function on the context's stack, the second `body(context, env, begin, end, lane)` on
    the one it is on; both return 0.  The third, called from within, makes them return 1; the fourth calls
    `function(context)` on the stack from which the first was called.
    """
    lines = BY_MACHINE[machine].strip().splitlines()
    return "\n".join([f'module asm "{line.strip()}"' for line in lines])
