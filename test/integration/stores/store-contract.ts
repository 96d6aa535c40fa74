/** What every store must do, whichever engine it is on. Each engine's test calls this with its own harness. */

import { codeContract } from './contract/codes.ts';
import type { MakeHarness } from './contract/harness.ts';
import { passkeyContract } from './contract/passkeys.ts';
import { reportContract } from './contract/reports.ts';
import { requestContract } from './contract/requests.ts';
import { searchContract } from './contract/search.ts';
import { settingsContract } from './contract/settings.ts';
import { sharingContract } from './contract/sharing.ts';
import { stateMachineContract } from './contract/state-machine.ts';
import { trailContract } from './contract/trail.ts';
import { treeContract } from './contract/tree.ts';
import { waitContract } from './contract/waits.ts';

export type { MakeHarness, StoreHarness } from './contract/harness.ts';

export function storeContract(makeHarness: MakeHarness): void {
  requestContract(makeHarness);
  stateMachineContract(makeHarness);
  trailContract(makeHarness);
  treeContract(makeHarness);
  reportContract(makeHarness);
  searchContract(makeHarness);
  settingsContract(makeHarness);
  sharingContract(makeHarness);
  waitContract(makeHarness);
  passkeyContract(makeHarness);
  codeContract(makeHarness);
}
