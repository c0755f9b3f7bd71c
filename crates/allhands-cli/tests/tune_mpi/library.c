/* A library of one rank that is taken for MPICH: its broadcast takes 3 ms by its own choice, a fifth of that by the algorithm `binomial`,
 * ends the program by `tree`, gives a wrong result by `scatter_ring_allgather`, and goes by a file of its own kind if one is named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const own_tree =
    "{\"collective=bcast\":{\"comm_type=intra\":{\"algorithm=MPIR_Bcast_intra_binomial\":{}}},"
    "\"collective=scan\":{\"algorithm=MPIR_Scan_intra_recursive_doubling\":{}}}";
const char *const own_tree_of_shared_memory =
    "{\"collective=bcast\":{\"comm_type=intra\":{\"algorithm=MPIDI_POSIX_mpi_bcast_release_gather\":{}}}}";

enum { AUTO, BINOMIAL, RING, TREE };
static int forced = AUTO, composition, chunk;

static int chosen(void)
{
    const char *name = getenv("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE");
    static char text[65536];
    if (forced != AUTO || name == NULL)
        return forced;
    FILE *file = fopen(name, "r");
    if (file == NULL || fread(text, 1, sizeof text - 1, file) == 0)
        abort();
    fclose(file);
    return strstr(text, "\"comm_size<=1\"") ? BINOMIAL : AUTO;
}

static int nap(int us)
{
    struct timespec time = {0, us * 1000L};
    return nanosleep(&time, NULL);
}

int MPI_Get_library_version(char *text, int *length) { return *length = sprintf(text, "MPICH Version:\t4.9\nmore"), 0; }
int MPI_Init(int *count, char ***words) { return 0; }
int MPI_Finalize(void) { return 0; }
int MPI_Comm_rank(int comm, int *rank) { return *rank = 0; }
int MPI_Comm_size(int comm, int *size) { return *size = 1, 0; }
int MPI_Comm_dup(int comm, int *other) { return *other = comm, 0; }
int MPI_Send(void) { return 1; }
int MPI_Recv(void) { return 1; }
int MPI_Barrier(int comm) { return 0; }
int MPI_Bcast(double *buffer, int count, int type, int root, int comm)
{
    switch (chosen()) {
    case BINOMIAL: return nap(600);
    case TREE: abort();
    case RING: buffer[0] = 12345;
    }
    return nap(3000);
}
int MPI_Scatter(void) { return 1; }
int MPI_Gather(void) { return 1; }
int MPI_Allgather(void) { return 1; }
int MPI_Alltoall(void) { return 1; }
int MPI_Reduce_scatter(void) { return 1; }
int MPI_Reduce_scatter_block(void) { return 1; }
int MPI_Reduce(void) { return 1; }
int MPI_Allreduce(void) { return 1; }
int MPI_Scan(void) { return 1; }
int MPI_Exscan(void) { return 1; }

int MPI_T_init_thread(int wanted, int *provided) { return *provided = 0; }
int MPI_T_cvar_get_index(const char *name, int *index)
{
    const char *names[] = {"MPIR_CVAR_BCAST_INTRA_ALGORITHM", "MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM", "MPIR_CVAR_BCAST_TREE_KVAL"};
    for (*index = 0; *index < 3; ++*index)
        if (strcmp(name, names[*index]) == 0)
            return 0;
    return 1;
}
int MPI_T_cvar_get_info(int index, char *name, int *name_length, int *verbosity, int *type, void **values, char *text, int *length,
                        int *bind, int *scope)
{
    const char *texts[] = {"To select\nauto - itself\nbinomial - forced\nscatter_ring_allgather - forced\ntree - forced\n",
                           "mpir   - by messages\nauto - itself\n", "A number"};
    *values = NULL;
    strcpy(text, texts[index]);
    return 0;
}
int MPI_T_cvar_handle_alloc(int index, void *object, void **handle, int *count)
{
    int *all[] = {&forced, &composition, &chunk};
    *handle = all[index];
    return *count = 1, 0;
}
int MPI_T_cvar_read(void *handle, void *value) { return memcpy(value, handle, sizeof(int)), 0; }
int MPI_T_cvar_write(void *handle, const void *value) { return memcpy(handle, value, sizeof(int)), 0; }
int MPI_T_enum_get_info(void) { return 1; }
int MPI_T_enum_get_item(void) { return 1; }
