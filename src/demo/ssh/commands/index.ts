/** Every command that a demo node knows, by name. */
import type { NodeCommand } from '../node-command.ts';
import { basicCommands } from './basics.ts';
import { fileCommands } from './files.ts';
import { identityCommands } from './identity.ts';
import { proxmoxCommands } from './proxmox.ts';
import { serviceCommands } from './services.ts';
import { storageCommands } from './storage.ts';

export const nodeCommands: ReadonlyMap<string, NodeCommand> = new Map(
  Object.entries({ ...identityCommands, ...storageCommands, ...fileCommands, ...serviceCommands, ...proxmoxCommands, ...basicCommands }),
);
