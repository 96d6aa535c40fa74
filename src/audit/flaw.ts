/** What is wrong with one record: its number, and the words for people. */
export interface Flaw {
  readonly broken: number;
  readonly message: string;
}
