/** Every method that the emulator answers. `contract.test.ts` holds the list against the contract. */
import type { ApiMethod } from '../api-method.ts';
import { accessMethods } from './access.ts';
import { agentMethods } from './agent.ts';
import { backupMethods } from './backup.ts';
import { certificateMethods } from './certificates.ts';
import { clusterMethods } from './cluster.ts';
import { graphMethods } from './graphs.ts';
import { guestActionMethods } from './guest-actions.ts';
import { guestMethods } from './guests.ts';
import { haMethods } from './ha.ts';
import { indexMethods } from './indexes.ts';
import { inventoryMethods } from './inventory.ts';
import { nodeMethods } from './nodes.ts';
import { relocationMethods } from './relocation.ts';
import { resourceMethods } from './resources.ts';
import { serviceMethods } from './services.ts';
import { storageMethods } from './storage.ts';
import { suspendMethods } from './suspend.ts';
import { taskMethods } from './tasks.ts';
import { volumeMethods } from './volumes.ts';

export const apiMethods: readonly ApiMethod[] = [
  ...accessMethods,
  ...indexMethods,
  ...clusterMethods,
  ...certificateMethods,
  ...haMethods,
  ...resourceMethods,
  ...nodeMethods,
  ...taskMethods,
  ...storageMethods,
  ...serviceMethods,
  ...guestMethods,
  ...guestActionMethods,
  ...suspendMethods,
  ...relocationMethods,
  ...agentMethods,
  ...graphMethods,
  ...inventoryMethods,
  ...volumeMethods,
  ...backupMethods,
];
