/* iolens-kernel as the service of a node: static programs of all users, a log for each job. */
#ifndef IOLENS_KERNEL_NODE_H
#define IOLENS_KERNEL_NODE_H

int node_main(int argc, char **argv);

#endif
