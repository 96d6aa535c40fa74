/** The account of every agent's own sandbox: its directory, its bytes, when it was last used. Shared by all windows and processes. */

/** Bytes are as charged: each file rounded up to whole blocks. */
export interface PersonaAccount {
  readonly agentId: string;
  /** Name of its directory; random, and another one after each cleaning. */
  readonly directory: string;
  readonly bytes: number;
  readonly files: number;
  /** Milliseconds since the epoch. */
  readonly lastUsed: number;
  /** Changes with every change of the account. */
  readonly revision: number;
}

export interface PersonaFile {
  readonly path: string;
  readonly bytes: number;
}

export interface PersonaLimits {
  readonly bytes: number;
  readonly files: number;
}

export type Reservation =
  | { readonly ok: true; readonly id: string }
  /** `gone`: the account is another one by now (it was cleaned); `full`: it would exceed a limit. */
  | { readonly ok: false; readonly why: 'gone' | 'full'; readonly account: PersonaAccount | undefined };

export interface PersonaLedger {
  /** The agent's account, marked as used now. Made with `directory` where there is none. */
  open(agentId: string, directory: string): Promise<PersonaAccount>;
  /** The agent's account, marked as used now; undefined where there is none. */
  find(agentId: string): Promise<PersonaAccount | undefined>;
  /** Sets `file.bytes` aside before they are written, in one transaction with the check. A path counts its largest size until settled. */
  reserve(account: Pick<PersonaAccount, 'agentId' | 'directory'>, file: PersonaFile, limits: PersonaLimits): Promise<Reservation>;
  /** Ends a reservation: `written` makes it the file's size, otherwise everything is as before. */
  settle(id: string, written: boolean): Promise<void>;
  /** Replaces the account by what was found on disk, unless it changed since `revision` or a reservation younger than `staleMs` is open. */
  recount(account: Pick<PersonaAccount, 'agentId' | 'revision'>, files: readonly PersonaFile[], staleMs: number): Promise<boolean>;
  /** Every account, the largest first. */
  list(): Promise<readonly PersonaAccount[]>;
  /** Strikes off every account unused since `before` and returns them; their directories belong to nobody then. Each is returned once. */
  takeUnused(before: number): Promise<readonly PersonaAccount[]>;
}
