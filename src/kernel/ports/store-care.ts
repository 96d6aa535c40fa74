/** What only an embedded store knows of itself, and what a person says about it. */

export interface StoreTime {
  /** How far this machine's clock is ahead of the time that the store has seen pass, in ms; 0: it is not. Nothing is dropped by a clock that is. */
  readonly ahead: number;
}

export interface StoreCare {
  time(): Promise<StoreTime>;
  /** A person says that the clock is right: what is old by it may go. Audited. @param by `user:alice` */
  trustClock(by: string): Promise<void>;
}
