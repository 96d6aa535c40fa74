/** The tools of each group, in the order they are listed. */
import type { Tool } from '#kernel/tool';
import { getCephStatus, getHaStatus, getReplication } from './cluster/availability.ts';
import { getGuest, guestListTools } from './cluster/guests.ts';
import { getMetrics } from './cluster/metrics.ts';
import { getNodeStatus, getNodeTemperature, nodeListTools } from './cluster/nodes.ts';
import { getBackups, getStorage } from './cluster/storage.ts';
import { getRecentTasks, getTask } from './cluster/tasks.ts';
import { getClusterResources, getClusterStatus, getPermissions } from './cluster/whole-cluster.ts';
import { backupGuest, restoreGuest } from './operations/backups.ts';
import { resizeDisk, setGuestConfig, setTags } from './operations/configuration.ts';
import { cloneGuest, deleteGuest } from './operations/guests.ts';
import { migrateGuest } from './operations/migration.ts';
import { executeSsh, rebootNode, restartService, wakeNode } from './operations/nodes.ts';
import { createSnapshot, deleteSnapshot, rollbackSnapshot } from './operations/snapshots.ts';
import { applyPlan, checkPlan, proposePlan, runPlan, undoPlan } from './plans/plans.ts';
import { getSecurityLog, getSecurityStatus, reportBlock } from './security/blocks.ts';
import { checkRequestStatus, listPendingApprovals } from './security/requests.ts';
import { agentTools } from './support/agent-tools.ts';
import { guestLifecycleTools } from './support/guest-lifecycle.ts';
import { editFile, listDirectory, readFile, searchFiles, writeFile } from './workspace/files.ts';
import { applyHeld, runCommand, undoRun } from './workspace/runs.ts';

/** They look at a cluster. */
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

/** They change guests and nodes. */
export const operationTools: readonly Tool[] = [
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

export const planTools: readonly Tool[] = [proposePlan, checkPlan, runPlan, undoPlan];

export const workspaceTools: readonly Tool[] = [readFile, listDirectory, searchFiles, writeFile, editFile, runCommand, undoRun];

/** None of them approves, denies or sets anything. */
export const securityTools: readonly Tool[] = [reportBlock, getSecurityStatus, listPendingApprovals, getSecurityLog, checkRequestStatus];

/** No caller can name them (`ToolDefinition.internal`). */
export const internalTools: readonly Tool[] = [applyHeld, ...agentTools, applyPlan];
