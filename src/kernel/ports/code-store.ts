/** One-time codes, hashed, one a request. They are taken away to be looked at: so one process at a time tries a code, and one uses it. */

export interface HashedCode {
  /** base64url, like `hash`. */
  readonly salt: string;
  readonly hash: string;
}

export interface StoredCode extends HashedCode {
  /** Tries that failed. */
  readonly wrong: number;
}

export interface CodeStore {
  /** Keeps a fresh code in place of the request's former one. */
  put(requestId: string, code: HashedCode, lifeMs: number): Promise<void>;
  /** At most one caller ever gets it; undefined: there is none. `leftMs` is by the store's clock, below 1 where its time is over. */
  take(requestId: string): Promise<{ readonly code: StoredCode; readonly leftMs: number } | undefined>;
  /** For the time that it had left, unless there is a newer one by now. */
  putBack(requestId: string, code: StoredCode, leftMs: number): Promise<void>;
}
