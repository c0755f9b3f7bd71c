! Calls whose number is known: a call that passes through several bindings must be counted once.
module counted
#include "flavour.inc"
contains
#include "check.inc"

    subroutine some_calls()
        integer :: i, sum, size, error
        call MPI_Comm_size(MPI_COMM_WORLD, size, error)
        do i = 1, 10
            call MPI_Allreduce(i, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
            call expect(sum == i*size, 'the sum')
        end do
        do i = 1, 5
            call MPI_Barrier(MPI_COMM_WORLD, error)
        end do
        do i = 1, 3
            call MPI_Bcast(sum, 1, MPI_INTEGER, 0, MPI_COMM_SELF, error)
        end do
    end subroutine
end module

program main
    use counted
    implicit none
    integer :: error
    call MPI_Init(error)
    call some_calls()
    ! One more call of MPI_Allreduce.
    call finish('counted')
end program
