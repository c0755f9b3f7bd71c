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

#ifdef OPEN_MPI
/* Handles of Fortran are no affair of the standard ABI's header, and elsewhere the name comes by that of C. */
static int in_fortran(void *data, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    typedef void call(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
    MPI_Fint number = count, type = MPI_Type_c2f(datatype), rank = root, handle = MPI_Comm_c2f(comm), code = -1;
    call *broadcast = (call *)dlsym(RTLD_DEFAULT, "mpi_bcast_");
    broadcast(data, &number, &type, &rank, &handle, &code);
    return code;
}
#endif

/* One after the other; that of Fortran where it does not come by the other, and for what is wrong in the eyes of the native MPI only where
   that has it, too. */
static inline int broadcasts(broadcast_call **calls, int of_mpi)
{
    calls[0] = in_c;
#ifdef OPEN_MPI
    int is_in_mpi = dlopen("libmpi_mpifh.so.40", RTLD_NOW | RTLD_GLOBAL) != NULL;
    calls[1] = in_fortran;
    return dlsym(RTLD_DEFAULT, "mpi_bcast_") && (is_in_mpi || !of_mpi) ? 2 : 1;
#else
    (void)of_mpi;
    return 1;
#endif
}

#endif
