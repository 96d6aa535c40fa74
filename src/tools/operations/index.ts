/** The tools that change guests and nodes, in the order they are listed. */
import type { Tool } from '#kernel/tool';
import { guestLifecycleTools } from '../support/guest-lifecycle.ts';
import { backupGuest, restoreGuest } from './backups.ts';
import { resizeDisk, setGuestConfig, setTags } from './configuration.ts';
import { cloneGuest, deleteGuest } from './guests.ts';
import { migrateGuest } from './migration.ts';
import { executeSsh, rebootNode, restartService, wakeNode } from './nodes.ts';
import { createSnapshot, deleteSnapshot, rollbackSnapshot } from './snapshots.ts';
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
