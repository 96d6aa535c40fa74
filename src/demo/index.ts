/** The embedded demo cluster. Load it with `import()`: nobody who runs against a real cluster needs it. */
export { type DemoCluster, type DemoClusterConfig, type DemoConfig, type DemoOptions, startDemoCluster } from './demo-cluster.ts';
export type { DemoFaults } from './demo-faults.ts';
export { demoTokens } from './initial-state.ts';
export type { ApiEffect, ApiFault, FaultHandle } from './pve/faults.ts';
export type { ClusterSeed } from './pve/state.ts';
export { createManualClock, type DemoClock, type ManualClock, type TaskMatch } from './pve/task-engine.ts';
