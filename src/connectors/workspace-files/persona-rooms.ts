/** What the file connector needs of the agents' own sandboxes. */

export interface PersonaRoom {
  /** Absolute, links resolved. */
  readonly path: string;
  /**
   * Sets `bytes` aside for the file at the room's `path`, before it is written. `settle` must follow.
   * @throws {Fault} `QUOTA_EXCEEDED`, `PATH_CHANGED` where the room was cleaned meanwhile
   */
  reserve(path: string, bytes: number): Promise<{ settle(written: boolean): Promise<void> }>;
}

export interface PersonaRooms {
  /** The agent's room, marked as used; undefined where it has none and `make` does not ask for one. */
  room(agentId: string, make: boolean): Promise<PersonaRoom | undefined>;
}
