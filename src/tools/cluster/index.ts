/** The tools that look at a cluster, in the order they are listed. */
import type { Tool } from '#kernel/tool';
import { guestListTools } from '../support/list-guests.ts';
import { nodeListTools } from '../support/node-lists.ts';
import { getBackups } from './get-backups.ts';
import { getCephStatus } from './get-ceph-status.ts';
import { getClusterResources } from './get-cluster-resources.ts';
import { getClusterStatus } from './get-cluster-status.ts';
import { getGuest } from './get-guest.ts';
import { getHaStatus } from './get-ha-status.ts';
import { getMetrics } from './get-metrics.ts';
import { getNodeStatus } from './get-node-status.ts';
import { getNodeTemperature } from './get-node-temperature.ts';
import { getPermissions } from './get-permissions.ts';
import { getRecentTasks } from './get-recent-tasks.ts';
import { getReplication } from './get-replication.ts';
import { getStorage } from './get-storage.ts';
import { getTask } from './get-task.ts';

export const clusterTools: readonly Tool[] = [
  getClusterStatus,
  getNodeStatus,
  ...guestListTools,
  getStorage,
  getClusterResources,
  getNodeTemperature,
  getRecentTasks,
  getBackups,
  getGuest,
  getTask,
  ...nodeListTools,
  getMetrics,
  getHaStatus,
  getReplication,
  getCephStatus,
  getPermissions,
];
