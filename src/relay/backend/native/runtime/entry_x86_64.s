# The way in and out of compiled code, see `runtime.h`: the saved stack pointer is the first word of a
# context, the top of the program's own stack the second.
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
  movq %rsp, (%rdi)
  movq %rdi, %r12
  movq 8(%rdi), %rax
  movq %rax, %rsp
  callq *%rsi
  movq (%r12), %rsp
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
  movq %rsp, (%rdi)
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
  movq (%rdi), %rsp
  andq $-16, %rsp
  callq *%rsi
  movq %rbp, %rsp
  popq %rbp
  retq
relay_fail:
  movq (%rdi), %rsp
  movl $1, %eax
  jmp relay_leave
