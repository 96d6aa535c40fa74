/** The embedded demo cluster. Load it with `import()`: nobody who runs against a real cluster needs it. */
export { startDemoCluster } from './demo-cluster.ts';
export type { DemoCluster, DemoClusterConfig, DemoConfig, DemoFaults, DemoOptions } from './demo-types.ts';
export { demoTokens } from './initial-state.ts';
export { createManualClock, type DemoClock, type ManualClock } from './manual-clock.ts';
export type { ApiEffect, ApiFault, FaultHandle } from './pve/api-faults.ts';
export type { ClusterSeed } from './pve/cluster-seed.ts';
export type { TaskMatch } from './pve/task-faults.ts';
