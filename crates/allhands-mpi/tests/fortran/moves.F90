! Collectives that move data, in Fortran: counts, roots, in place, types with gaps, and absolute addresses.
module moves
#include "flavour.inc"
contains
#include "check.inc"

    ! The value that rank `from` has for rank `to` at place `i`.
    pure integer function value(from, to, i)
        integer, intent(in) :: from, to, i
        value = from*1000003 + to*10007 + i*31 + 5
    end function

    subroutine fill(block, from, to, count)
        integer, intent(out) :: block(*)
        integer, intent(in) :: from, to, count
        integer :: i
        do i = 1, count
            block(i) = value(from, to, i)
        end do
    end subroutine

    subroutine is_block(block, from, to, count, what)
        integer, intent(in) :: block(*), from, to, count
        character(*), intent(in) :: what
        integer :: i
        do i = 1, count
            if (block(i) /= value(from, to, i)) then
                call expect(.false., what)
                return
            end if
        end do
    end subroutine

    subroutine rooted(comm_, rank, size, count)
        COMM, intent(in) :: comm_
        integer, intent(in) :: rank, size, count
        integer :: root, r, error, own(count + 1), all(count*size + 1)
        logical :: in_place
        do root = 0, size - 1
            own = -1
            if (rank == root) call fill(own, root, 0, count)
            call MPI_Bcast(own, count, MPI_INTEGER, root, comm_, error)
            call is_block(own, root, 0, count, 'bcast')
            do r = 0, 1
                in_place = r == 1 .and. rank == root
                all = -1
                call fill(own, rank, 0, count)
                if (in_place) then
                    all(rank*count + 1:(rank + 1)*count) = own(1:count)
                    call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, all, count, MPI_INTEGER, root, comm_, error)
                else
                    call MPI_Gather(own, count, MPI_INTEGER, all, count, MPI_INTEGER, root, comm_, error)
                end if
                call expect(error == MPI_SUCCESS, 'gather: error')
                if (rank == root) call are_blocks(all, 0, 'gather')
                if (rank /= root) call expect(all(1) == -1, 'gather: written on a rank that is not the root')
                call fill_all(all, root)
                own = -1
                if (in_place) then
                    call MPI_Scatter(all, count, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_INTEGER, root, comm_, error)
                else
                    call MPI_Scatter(all, count, MPI_INTEGER, own, count, MPI_INTEGER, root, comm_, error)
                    call is_block(own, root, rank, count, 'scatter')
                end if
            end do
        end do
    contains
        subroutine are_blocks(blocks, to, what)
            integer, intent(in) :: blocks(*), to
            character(*), intent(in) :: what
            integer :: from
            do from = 0, size - 1
                call is_block(blocks(from*count + 1), from, to, count, what)
            end do
        end subroutine
        subroutine fill_all(blocks, from)
            integer, intent(out) :: blocks(*)
            integer, intent(in) :: from
            integer :: to
            do to = 0, size - 1
                call fill(blocks(to*count + 1), from, to, count)
            end do
        end subroutine
    end subroutine

    subroutine everywhere(comm_, rank, size, count)
        COMM, intent(in) :: comm_
        integer, intent(in) :: rank, size, count
        integer :: r, way, error, own(count + 1), all(count*size + 1), out(count*size + 1)
        call fill(own, rank, 0, count)
        do way = 0, 1
            all = -1
            if (way == 1) then
                all(rank*count + 1:(rank + 1)*count) = own(1:count)
                call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, all, count, MPI_INTEGER, comm_, error)
            else
                call MPI_Allgather(own, count, MPI_INTEGER, all, count, MPI_INTEGER, comm_, error)
            end if
            do r = 0, size - 1
                call is_block(all(r*count + 1), r, 0, count, 'allgather')
                call fill(out(r*count + 1), rank, r, count)
            end do
            all = out
            if (way == 1) then
                call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, all, count, MPI_INTEGER, comm_, error)
            else
                call MPI_Alltoall(out, count, MPI_INTEGER, all, count, MPI_INTEGER, comm_, error)
            end if
            do r = 0, size - 1
                call is_block(all(r*count + 1), r, rank, count, 'alltoall')
            end do
        end do
    end subroutine

    ! Blocks of lengths of their own, in the reverse order and with gaps between them.
    subroutine uneven(comm_, rank, size, count)
        COMM, intent(in) :: comm_
        integer, intent(in) :: rank, size, count
        integer :: lengths(size), places(size), room, r, root, way, mine, error
        integer, allocatable :: own(:), all(:)
        room = 0
        do r = size, 1, -1
            lengths(r) = count + r
            places(r) = room
            room = room + lengths(r) + 3
        end do
        mine = lengths(rank + 1)
        allocate (own(mine), all(room))
        do way = 0, 1
            all = -1
            call fill(own, rank, 0, mine)
            if (way == 1) then
                call fill(all(places(rank + 1) + 1), rank, 0, mine)
                call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INTEGER, all, lengths, places, MPI_INTEGER, comm_, error)
            else
                call MPI_Allgatherv(own, mine, MPI_INTEGER, all, lengths, places, MPI_INTEGER, comm_, error)
            end if
            call check_all('allgatherv')
            do root = 0, size - 1
                all = -1
                call fill(own, rank, 0, mine)
                if (way == 1 .and. rank == root) then
                    call fill(all(places(rank + 1) + 1), rank, 0, mine)
                    call MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INTEGER, all, lengths, places, MPI_INTEGER, root, comm_, error)
                else
                    call MPI_Gatherv(own, mine, MPI_INTEGER, all, lengths, places, MPI_INTEGER, root, comm_, error)
                end if
                if (rank == root) call check_all('gatherv')
                do r = 0, size - 1
                    call fill(all(places(r + 1) + 1), root, r, lengths(r + 1))
                end do
                own = -1
                if (way == 1 .and. rank == root) then
                    call MPI_Scatterv(all, lengths, places, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_INTEGER, root, comm_, error)
                else
                    call MPI_Scatterv(all, lengths, places, MPI_INTEGER, own, mine, MPI_INTEGER, root, comm_, error)
                    call is_block(own, root, rank, mine, 'scatterv')
                end if
            end do
        end do
    contains
        subroutine check_all(what)
            character(*), intent(in) :: what
            integer :: from
            do from = 0, size - 1
                call is_block(all(places(from + 1) + 1), from, 0, lengths(from + 1), what)
                call expect(all(places(from + 1) + lengths(from + 1) + 1) == -1, what//': a gap is written')
            end do
        end subroutine
    end subroutine

    ! Every pair has a length of its own; with displacements of elements, and of bytes.
    subroutine pairs(comm_, rank, size, count)
        COMM, intent(in) :: comm_
        integer, intent(in) :: rank, size, count
        integer, dimension(size) :: sent, to, received, from
        DATATYPE :: types(size)
        integer :: room, space, r, w, error
        integer, allocatable :: out(:), in(:)
        room = 0
        space = 0
        do r = 0, size - 1
            sent(r + 1) = count + mod(rank + 2*r, 4)
            received(r + 1) = count + mod(r + 2*rank, 4)
            to(r + 1) = room
            from(r + 1) = space
            room = room + sent(r + 1) + 1
            space = space + received(r + 1) + r
            types(r + 1) = MPI_INTEGER
        end do
        allocate (out(room), in(space + size*(count + 4)))
        do w = 0, 1
            in = -1
            do r = 0, size - 1
                call fill(out(to(r + 1) + 1), rank, r, sent(r + 1))
            end do
            if (w == 1) then
                call MPI_Alltoallw(out, sent, 4*to, types, in, received, 4*from, types, comm_, error)
            else
                call MPI_Alltoallv(out, sent, to, MPI_INTEGER, in, received, from, MPI_INTEGER, comm_, error)
            end if
            do r = 0, size - 1
                call is_block(in(from(r + 1) + 1), r, rank, received(r + 1), 'alltoallv or w')
            end do
        end do
        ! In place, both ranks of a pair have the same length, and what would describe what is sent means nothing.
        do w = 0, 1
            room = 0
            do r = 0, size - 1
                received(r + 1) = count + mod(rank + r, 3)
                from(r + 1) = room
                call fill(in(room + 1), rank, r, received(r + 1))
                room = room + received(r + 1) + 1
            end do
            if (w == 1) then
                call MPI_Alltoallw(MPI_IN_PLACE, [0], [0], [MPI_DATATYPE_NULL], in, received, 4*from, types, comm_, error)
            else
                call MPI_Alltoallv(MPI_IN_PLACE, [0], [0], MPI_INTEGER, in, received, from, MPI_INTEGER, comm_, error)
            end if
            do r = 0, size - 1
                call is_block(in(from(r + 1) + 1), r, rank, received(r + 1), 'alltoallv or w in place')
            end do
        end do
    end subroutine

    ! Ranks describe the same data differently: every second element of twice as many, or elements.
    subroutine with_gaps(comm_, rank, size, count)
        COMM, intent(in) :: comm_
        integer, intent(in) :: rank, size, count
        DATATYPE :: gaps, block
        integer :: root, r, step, error, own(2*count), all(2*count*size), packed(count)
        call MPI_Type_vector(count, 1, 2, MPI_INTEGER, gaps, error)
        call MPI_Type_create_resized(gaps, 0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND*count, block, error)
        call MPI_Type_commit(block, error)
        do root = 0, size - 1
            step = merge(2, 1, mod(rank + root, 2) == 1)
            own = -1
            if (rank == root) call fill_gaps(own, root, 0)
            if (step == 2) then
                call MPI_Bcast(own, 1, block, root, comm_, error)
                call expect(own(2) == -1, 'bcast: a gap is written')
            else
                call MPI_Bcast(own, count, MPI_INTEGER, root, comm_, error)
            end if
            packed = own(1:step*count:step)
            call is_block(packed, root, 0, count, 'bcast of different types')
            call fill_gaps(own, rank, 0)
            all = -1
            if (step == 2) then
                call MPI_Allgather(own, 1, block, all, 1, block, comm_, error)
            else
                call MPI_Allgather(own, count, MPI_INTEGER, all, count, MPI_INTEGER, comm_, error)
            end if
            do r = 0, size - 1
                packed = all(step*r*count + 1:step*(r + 1)*count:step)
                call is_block(packed, r, 0, count, 'allgather of different types')
            end do
        end do
        call MPI_Type_free(gaps, error)
        call MPI_Type_free(block, error)
    contains
        subroutine fill_gaps(data, from, to)
            integer, intent(inout) :: data(*)
            integer, intent(in) :: from, to
            integer :: i
            do i = 1, count
                data(step*(i - 1) + 1) = value(from, to, i)
            end do
        end subroutine
    end subroutine

    ! A type that holds the addresses themselves, sent from MPI_BOTTOM.
    subroutine from_the_bottom(comm_, rank, size)
        COMM, intent(in) :: comm_
        integer, intent(in) :: rank, size
        DATATYPE :: absolute
        integer, asynchronous :: one(3), other(2)
        integer :: root, error, all(5*size)
        integer(MPI_ADDRESS_KIND) :: addresses(2)
        call MPI_Get_address(one, addresses(1), error)
        call MPI_Get_address(other, addresses(2), error)
        call MPI_Type_create_hindexed(2, [3, 2], addresses, MPI_INTEGER, absolute, error)
        call MPI_Type_commit(absolute, error)
        do root = 0, size - 1
            one = rank
            other = -rank
            call MPI_Bcast(MPI_BOTTOM, 1, absolute, root, comm_, error)
            call expect(all_equal(one, root) .and. all_equal(other, -root), 'bcast from the bottom')
            one = rank + 1
            other = rank + 2
            call MPI_Gather(MPI_BOTTOM, 1, absolute, all, 5, MPI_INTEGER, root, comm_, error)
            if (rank == root) call expect(all(5*size - 4) == size .and. all(5*size) == size + 1, 'gather from the bottom')
        end do
        call MPI_Type_free(absolute, error)
    contains
        logical function all_equal(block, number)
            integer, intent(in) :: block(:), number
            all_equal = count(block == number) == ubound(block, 1)
        end function
    end subroutine

    subroutine every_move(comm_, rank, size)
        COMM, intent(in) :: comm_
        integer, intent(in) :: rank, size
        integer, parameter :: counts(4) = [0, 1, 7, 1000]
        integer :: c, error
        do c = 1, 3
            call MPI_Barrier(comm_, error)
            call expect(error == MPI_SUCCESS, 'barrier: error')
#if defined(F08)
            ! The error code may be left out.
            call MPI_Barrier(comm_)
#endif
        end do
        do c = 1, 4
            call rooted(comm_, rank, size, counts(c))
            call everywhere(comm_, rank, size, counts(c))
            call uneven(comm_, rank, size, counts(c))
            call pairs(comm_, rank, size, counts(c))
            if (counts(c) > 0) call with_gaps(comm_, rank, size, counts(c))
        end do
        call from_the_bottom(comm_, rank, size)
    end subroutine
end module

program main
    use moves
    implicit none
    integer :: error
    call MPI_Init(error)
    call on_communicators(every_move)
    call finish('moves')
end program
