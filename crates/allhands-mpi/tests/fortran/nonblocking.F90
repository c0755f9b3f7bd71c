! Nonblocking calls of Fortran: requests, buffers that are constants, lists and types.
module nonblocking
#include "flavour.inc"
contains
#include "check.inc"

    subroutine begun(comm_)
        COMM, intent(in) :: comm_
        integer, parameter :: most = 64
        integer, asynchronous :: own(most), got(most), places(most), counts(most)
        integer :: rank, size, error, i, ranks
        REQUEST :: requests(4)
        DATATYPE :: types(most)
        double precision, asynchronous :: sums(2)
        call MPI_Comm_rank(comm_, rank, error)
        call MPI_Comm_size(comm_, size, error)
        ! The ranks agree.
        call MPI_Barrier(comm_, error)
        own = rank + 1
        got = -1
        sums = rank + 0.5d0
        ranks = size*(size + 1)/2
        call MPI_Iallreduce(own, got, 3, MPI_INTEGER, MPI_SUM, comm_, requests(1), error)
        call MPI_Ibarrier(comm_, requests(2), error)
        call MPI_Iallreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE_PRECISION, MPI_SUM, comm_, requests(3), error)
        call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, error)
        call expect(error == 0, 'the wait')
        call expect(all(got(1:3) == ranks), 'the sums')
        call expect(got(4) == -1, 'what is behind the sums')
        call expect(abs(sums(2) - (ranks - 0.5d0*size)) < 1d-9, 'the sums in place')
        own = rank
        if (rank == size - 1) own(1:2) = (/77, 78/)
        call MPI_Ibcast(own, 2, MPI_INTEGER, size - 1, comm_, requests(1), error)
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
        call expect(own(1) == 77 .and. own(2) == 78, 'the broadcast')
        do i = 1, size
            own(i) = 100*rank + i
            counts(i) = 1
            places(i) = 4*(i - 1)
            types(i) = MPI_INTEGER
        end do
        call MPI_Ialltoallw(own, counts, places, types, got, counts, places, types, comm_, requests(1), error)
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
        do i = 1, size
            call expect(got(i) == 100*(i - 1) + rank + 1, 'all to all')
        end do
        call MPI_Igather(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, 0, comm_, requests(1), error)
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
        do i = 1, size
            if (rank == 0) call expect(got(i) == i - 1, 'what was gathered')
        end do
    end subroutine
end module

program main
    use nonblocking
    implicit none
    integer :: error
    call MPI_Init(error)
    call begun(MPI_COMM_WORLD)
    call begun(MPI_COMM_SELF)
    call finish('nonblocking')
end program
