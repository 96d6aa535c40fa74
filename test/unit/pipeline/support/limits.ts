/** The stores' own cap (prompt fatigue): docs/design.md#requests-and-grants. */
export const maxPendingPerAgent = 5;
