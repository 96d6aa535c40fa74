/** The cluster tools, in the order they are listed. */
import type { Tool } from '#kernel/tool';
import { guestLifecycleTools } from '../support/guest-lifecycle.ts';
import { guestListTools } from '../support/list-guests.ts';
import { executeSsh } from './execute-ssh.ts';
import { getBackups } from './get-backups.ts';
import { getClusterResources } from './get-cluster-resources.ts';
import { getClusterStatus } from './get-cluster-status.ts';
import { getNodeStatus } from './get-node-status.ts';
import { getNodeTemperature } from './get-node-temperature.ts';
import { getRecentTasks } from './get-recent-tasks.ts';
import { getStorage } from './get-storage.ts';
import { rebootNode } from './reboot-node.ts';
import { restartService } from './restart-service.ts';
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
  ...guestLifecycleTools,
  executeSsh,
  restartService,
  wakeNode,
  rebootNode,
];
