/* MPI_Bcast by its name in C, and by that of Fortran, where the library has an entry point of its own for it. */
#ifndef BROADCASTS_H
#define BROADCASTS_H

#include "check.h"
#include <dlfcn.h>

typedef int broadcast_call(void *data, int count, MPI_Datatype datatype, int root, MPI_Comm comm);

static int in_c(void *data, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    return MPI_Bcast(data, count, datatype, root, comm);
}

static int in_fortran(void *data, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    typedef void call(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
    MPI_Fint number = count, type = MPI_Type_c2f(datatype), rank = root, handle = MPI_Comm_c2f(comm), code = -1;
    call *broadcast = (call *)dlsym(RTLD_DEFAULT, "mpi_bcast_");
    broadcast(data, &number, &type, &rank, &handle, &code);
    return code;
}

/* Whether a call by the name of Fortran does not come by the other one, and whether the MPI has it. */
static inline int has_own_fortran(int *is_in_mpi)
{
#ifdef OPEN_MPI
    *is_in_mpi = dlopen("libmpi_mpifh.so.40", RTLD_NOW | RTLD_GLOBAL) != NULL;
    return dlsym(RTLD_DEFAULT, "mpi_bcast_") != NULL;
#else
    *is_in_mpi = 0;
    return 0;
#endif
}

/* One after the other; the second of all that are wrong in the eyes of the native MPI only where that has it, too. */
static inline int broadcasts(broadcast_call **calls, int of_mpi)
{
    int is_in_mpi, has = has_own_fortran(&is_in_mpi);
    calls[0] = in_c;
    calls[1] = in_fortran;
    return has && (is_in_mpi || !of_mpi) ? 2 : 1;
}

#endif
