"""What threads wait at: the barriers of a CTA, the barrier of a cluster, mbarriers."""
