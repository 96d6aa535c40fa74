/** The cluster tools, in the order they are listed. */
import type { Tool } from '#kernel/tool';
import { guestLifecycleTools } from '../support/guest-lifecycle.ts';
import { guestListTools } from '../support/list-guests.ts';
import { nodeListTools } from '../support/node-lists.ts';
import { backupGuest } from './backup-guest.ts';
import { cloneGuest } from './clone-guest.ts';
import { createSnapshot } from './create-snapshot.ts';
import { deleteGuest } from './delete-guest.ts';
import { deleteSnapshot } from './delete-snapshot.ts';
import { executeSsh } from './execute-ssh.ts';
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
import { migrateGuest } from './migrate-guest.ts';
import { rebootNode } from './reboot-node.ts';
import { resizeDisk } from './resize-disk.ts';
import { restartService } from './restart-service.ts';
import { restoreGuest } from './restore-guest.ts';
import { rollbackSnapshot } from './rollback-snapshot.ts';
import { setGuestConfig } from './set-guest-config.ts';
import { setTags } from './set-tags.ts';
import { wakeNode } from './wake-node.ts';

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
  ...guestLifecycleTools,
  createSnapshot,
  rollbackSnapshot,
  deleteSnapshot,
  backupGuest,
  restoreGuest,
  cloneGuest,
  migrateGuest,
  resizeDisk,
  setGuestConfig,
  setTags,
  deleteGuest,
  executeSsh,
  restartService,
  wakeNode,
  rebootNode,
];
