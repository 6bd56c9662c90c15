// The vDSO's file (made from user/vdso/ by the build), as task/vdso.cpp copies it into the pages that programs see.
    .section .rodata.vdso, "a"
    .balign 8
    .globl corral_vdso_image
    .globl corral_vdso_image_end
corral_vdso_image:
    .incbin "vdso.so"
corral_vdso_image_end:
    .section .note.GNU-stack, "", @progbits
