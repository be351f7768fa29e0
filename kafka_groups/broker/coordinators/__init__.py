"""The coordinators of the cluster: operations return a response and records. Hard state changes only by replay."""
