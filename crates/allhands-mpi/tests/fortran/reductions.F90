! Collectives that combine, in Fortran: its types with predefined operators, operators of the user, in place, two groups.
module reductions
#include "flavour.inc"
    DATATYPE :: map
    OP :: composition
contains
#include "check.inc"

    ! Affine maps x -> slope x + offset modulo 257, the left one first: associative, and not commutative.
    pure function composed(left, right)
        integer, intent(in) :: left(2), right(2)
        integer :: composed(2)
        composed = [mod(left(1)*right(1), 257), mod(left(2)*right(1) + right(2), 257)]
    end function

    pure function own_map(rank, i)
        integer, intent(in) :: rank, i
        integer :: own_map(2)
        own_map = [3 + rank + mod(i, 3), 1 + 2*rank + mod(i, 5)]
    end function

#if defined(F08)
    subroutine compose(left, right, count, type_)
        use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
        type(c_ptr), value :: left, right
        integer :: count
        type(MPI_Datatype) :: type_
        integer, pointer :: a(:, :), b(:, :)
        integer :: i
        call c_f_pointer(left, a, [2, count])
        call c_f_pointer(right, b, [2, count])
#else
    subroutine compose(a, b, count, type_)
        integer :: count, type_
        integer :: a(2, count), b(2, count)
        integer :: i
#endif
        do i = 1, count
            b(:, i) = composed(a(:, i), b(:, i))
        end do
    end subroutine

    ! What ranks `from` to `to` give at place `i`: of sums when `is_sum`, of maps otherwise.
    function result(is_sum, from, to, i)
        logical, intent(in) :: is_sum
        integer, intent(in) :: from, to, i
        integer :: result(2), r
        result = own_map(from, i)
        do r = from + 1, to
            if (is_sum) then
                result = result + own_map(r, i)
            else
                result = composed(result, own_map(r, i))
            end if
        end do
    end function

    subroutine is_result(out, is_sum, first, from, to, count, what)
        integer, intent(in) :: first, from, to, count, out(2, *)
        logical, intent(in) :: is_sum
        character(*), intent(in) :: what
        integer :: i
        do i = 1, count
            if (any(out(:, i) /= result(is_sum, from, to, first + i))) then
                call expect(.false., what//merge(' of sums', ' of maps', is_sum))
                return
            end if
        end do
    end subroutine

    ! Every call, of pairs of integers that are summed, or of maps that the user's operator composes.
    subroutine combine(comm_, rank, size, count, is_sum)
        COMM, intent(in) :: comm_
        integer, intent(in) :: rank, size, count
        logical, intent(in) :: is_sum
        DATATYPE :: type_
        OP :: op_
        integer :: n, r, root, way, first, error, lengths(size), each(size), all
        integer, allocatable :: in(:, :), out(:, :)
        type_ = map
        op_ = composition
        n = count
        lengths = [(count + r, r=0, size - 1)]
        each = lengths
        if (is_sum) then
            type_ = MPI_INTEGER
            op_ = MPI_SUM
            n = 2*count
            each = 2*lengths
        end if
        first = sum(lengths(1:rank))
        all = max(sum(lengths), count*size)
        allocate (in(2, all + 1), out(2, all + 1))
        do r = 1, all
            in(:, r) = own_map(rank, r)
        end do
        do way = 0, 1
            out = in
            if (way == 1) then
                call MPI_Allreduce(MPI_IN_PLACE, out, n, type_, op_, comm_, error)
            else
                call MPI_Allreduce(in, out, n, type_, op_, comm_, error)
            end if
            call is_result(out, is_sum, 0, 0, size - 1, count, 'allreduce')
            do root = 0, size - 1
                out = in
                if (way == 1 .and. rank == root) then
                    call MPI_Reduce(MPI_IN_PLACE, out, n, type_, op_, root, comm_, error)
                else
                    call MPI_Reduce(in, out, n, type_, op_, root, comm_, error)
                end if
                if (rank == root) call is_result(out, is_sum, 0, 0, size - 1, count, 'reduce')
            end do
            out = in
            if (way == 1) then
                call MPI_Scan(MPI_IN_PLACE, out, n, type_, op_, comm_, error)
            else
                call MPI_Scan(in, out, n, type_, op_, comm_, error)
            end if
            call is_result(out, is_sum, 0, 0, rank, count, 'scan')
            out = in
            if (way == 1) then
                call MPI_Exscan(MPI_IN_PLACE, out, n, type_, op_, comm_, error)
            else
                call MPI_Exscan(in, out, n, type_, op_, comm_, error)
            end if
            if (rank > 0) call is_result(out, is_sum, 0, 0, rank - 1, count, 'exscan')
            out = in
            if (way == 1) then
                call MPI_Reduce_scatter_block(MPI_IN_PLACE, out, n, type_, op_, comm_, error)
            else
                call MPI_Reduce_scatter_block(in, out, n, type_, op_, comm_, error)
            end if
            call is_result(out, is_sum, rank*count, 0, size - 1, count, 'reduce_scatter_block')
            out = in
            if (way == 1) then
                call MPI_Reduce_scatter(MPI_IN_PLACE, out, each, type_, op_, comm_, error)
            else
                call MPI_Reduce_scatter(in, out, each, type_, op_, comm_, error)
            end if
            call is_result(out, is_sum, first, 0, size - 1, lengths(rank + 1), 'reduce_scatter')
        end do
    end subroutine

    ! Fortran's own types.
    subroutine types(comm_, rank, size)
        COMM, intent(in) :: comm_
        integer, intent(in) :: rank, size
        integer :: error, total, number(2), numbers(2)
        integer(8) :: long, longs
        real :: single, singles
        double precision :: twice, twices
        complex :: plane, planes
        complex(kind(1d0)) :: wide, wides
        logical :: truth, truths
        total = size*(size + 1)/2
        call MPI_Allreduce(rank + 1, number, 1, MPI_INTEGER, MPI_MAX, comm_, error)
        call expect(number(1) == size, 'the largest integer')
        call MPI_Allreduce(ishft(1, rank), number, 1, MPI_INTEGER, MPI_BOR, comm_, error)
        call expect(number(1) == ishft(1, size) - 1, 'bits of integers')
        long = rank + 1
        call MPI_Allreduce(long, longs, 1, MPI_INTEGER8, MPI_SUM, comm_, error)
        call expect(longs == total, 'the sum of long integers')
        single = rank + 1
        call MPI_Allreduce(single, singles, 1, MPI_REAL, MPI_SUM, comm_, error)
        call expect(singles == total, 'the sum of single numbers')
        twice = rank + 1
        call MPI_Allreduce(twice, twices, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm_, error)
        call expect(twices == total, 'the sum of double numbers')
        call MPI_Allreduce(twice, twices, 1, MPI_REAL8, MPI_MIN, comm_, error)
        call expect(twices == 1, 'the smallest double number')
        plane = cmplx(rank + 1, 1)
        call MPI_Allreduce(plane, planes, 1, MPI_COMPLEX, MPI_SUM, comm_, error)
        call expect(planes == cmplx(total, size), 'the sum of complex numbers')
        wide = cmplx(rank + 1, 1, kind(1d0))
        call MPI_Allreduce(wide, wides, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, comm_, error)
        call expect(wides == cmplx(total, size, kind(1d0)), 'the sum of wide complex numbers')
        truth = rank == 0
        call MPI_Allreduce(truth, truths, 1, MPI_LOGICAL, MPI_LAND, comm_, error)
        call expect(truths .eqv. size == 1, 'whether all are true')
        call MPI_Allreduce(truth, truths, 1, MPI_LOGICAL, MPI_LOR, comm_, error)
        call expect(truths, 'whether any is true')
        number = [mod(rank, 2), rank]
        call MPI_Allreduce(number, numbers, 1, MPI_2INTEGER, MPI_MAXLOC, comm_, error)
        call expect(all(numbers == merge([0, 0], [1, 1], size == 1)), 'where the largest is')
    end subroutine

    subroutine every_reduction(comm_, rank, size)
        COMM, intent(in) :: comm_
        integer, intent(in) :: rank, size
        integer, parameter :: counts(3) = [0, 1, 700]
        integer :: c
        do c = 1, 3
            call combine(comm_, rank, size, counts(c), .true.)
            call combine(comm_, rank, size, counts(c), .false.)
        end do
        call types(comm_, rank, size)
    end subroutine

    ! A communicator between two groups, and the one that both make.
    subroutine two_groups()
        COMM :: part, between, merged
        integer :: rank, size, half, sum, r, error
        logical :: in_first
        call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
        call MPI_Comm_size(MPI_COMM_WORLD, size, error)
        if (size < 2) return
        half = size/2
        in_first = rank < half
        call MPI_Comm_split(MPI_COMM_WORLD, merge(1, 0, in_first), rank, part, error)
        call MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, merge(half, 0, in_first), 5, between, error)
        call MPI_Barrier(between, error)
        call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, between, error)
        if (in_first) then
            call expect(sum == size*(size - 1)/2 - half*(half - 1)/2, 'the sum of the second group')
        else
            call expect(sum == half*(half - 1)/2, 'the sum of the first group')
        end if
        r = rank
        if (in_first) then
            call MPI_Bcast(r, 1, MPI_INTEGER, merge(MPI_ROOT, MPI_PROC_NULL, rank == 0), between, error)
        else
            call MPI_Bcast(r, 1, MPI_INTEGER, 0, between, error)
            call expect(r == 0, 'bcast to the other group')
        end if
        call MPI_Intercomm_merge(between, in_first, merged, error)
        call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, merged, error)
        call expect(sum == size*(size - 1)/2, 'the sum of both groups')
        call MPI_Comm_free(merged, error)
        call MPI_Comm_free(between, error)
        call MPI_Comm_free(part, error)
    end subroutine

    ! What is not taken over goes on beside what is: nonblocking calls, and statuses that nobody wants.
    subroutine beside()
        REQUEST :: request_
        integer :: rank, size, sum, own, got, error
        call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
        call MPI_Comm_size(MPI_COMM_WORLD, size, error)
        call MPI_Iallreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request_, error)
        call MPI_Allreduce(rank, own, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)
        call MPI_Wait(request_, MPI_STATUS_IGNORE, error)
        call expect(sum == size*(size - 1)/2 .and. own == size - 1, 'a nonblocking call beside a blocking one')
        call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, size), 3, got, 1, MPI_INTEGER, &
                          mod(rank + size - 1, size), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
        call expect(got == mod(rank + size - 1, size), 'a message beside calls')
    end subroutine
end module

program main
    use reductions
    implicit none
    integer :: error, provided
    call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, error)
    call MPI_Type_contiguous(2, MPI_INTEGER, map, error)
    call MPI_Type_commit(map, error)
    call MPI_Op_create(compose, .false., composition, error)
    call on_communicators(every_reduction)
    call two_groups()
    call beside()
    call MPI_Op_free(composition, error)
    call MPI_Type_free(map, error)
    call finish('reductions')
end program
