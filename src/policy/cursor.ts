/** A text that is read from its start to its end, and how far. */
export class Cursor {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  get atEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** Empty at the end. */
  get next(): string {
    return this.text.charAt(this.at);
  }

  get second(): string {
    return this.text.charAt(this.at + 1);
  }

  take(count: number): string {
    const taken = this.text.slice(this.at, this.at + count);
    this.at += count;
    return taken;
  }

  /** Takes what a sticky pattern matches here. */
  takeMatch(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}
