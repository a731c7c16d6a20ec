// The way in and out of compiled code, see `runtime.h`: the saved stack pointer is the first word of a
// context, the top of the program's own stack the second.
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
  str x9, [x0]
  mov x19, x0
  ldr x9, [x0, #8]
  mov sp, x9
  blr x1
  ldr x9, [x19]
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
  str x9, [x0]
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
  ldr x9, [x0]
  mov sp, x9
  blr x1
  mov sp, x29
  ldp x29, x30, [sp], #16
  ret
relay_fail:
  ldr x9, [x0]
  mov w0, #1
  b relay_leave
