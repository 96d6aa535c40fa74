/** The tools that look at a cluster, in the order they are listed. */
import type { Tool } from '#kernel/tool';
import { getCephStatus, getHaStatus, getReplication } from './availability.ts';
import { getGuest, guestListTools } from './guests.ts';
import { getMetrics } from './metrics.ts';
import { getNodeStatus, getNodeTemperature, nodeListTools } from './nodes.ts';
import { getBackups, getStorage } from './storage.ts';
import { getRecentTasks, getTask } from './tasks.ts';
import { getClusterResources, getClusterStatus, getPermissions } from './whole-cluster.ts';

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
