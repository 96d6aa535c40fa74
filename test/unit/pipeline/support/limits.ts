/** The stores' own cap (prompt fatigue), as design §7 and notes/approvals.md §1 have it. */
export const maxPendingPerAgent = 5;
