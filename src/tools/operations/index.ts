/** The tools that change guests and nodes, in the order they are listed. */
import type { Tool } from '#kernel/tool';
import { guestLifecycleTools } from '../support/guest-lifecycle.ts';
import { backupGuest } from './backup-guest.ts';
import { cloneGuest } from './clone-guest.ts';
import { createSnapshot } from './create-snapshot.ts';
import { deleteGuest } from './delete-guest.ts';
import { deleteSnapshot } from './delete-snapshot.ts';
import { executeSsh } from './execute-ssh.ts';
import { migrateGuest } from './migrate-guest.ts';
import { rebootNode } from './reboot-node.ts';
import { resizeDisk } from './resize-disk.ts';
import { restartService } from './restart-service.ts';
import { restoreGuest } from './restore-guest.ts';
import { rollbackSnapshot } from './rollback-snapshot.ts';
import { setGuestConfig } from './set-guest-config.ts';
import { setTags } from './set-tags.ts';
import { wakeNode } from './wake-node.ts';

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
