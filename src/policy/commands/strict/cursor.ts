/** A place in a line, and how to say that it is the wrong one. */

/** Thrown inside the lexer only; it leaves it as a `Refusal`. */
export class LexFault extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

export class Cursor {
  readonly text: string;
  readonly nonAscii: boolean;
  at = 0;

  constructor(text: string, nonAscii: boolean) {
    this.text = text;
    this.nonAscii = nonAscii;
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

  startsWith(text: string): boolean {
    return this.text.startsWith(text, this.at);
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

  skipBlanks(): void {
    while (this.next === ' ') this.at += 1;
  }

  fault(construct: string, offset = this.at): LexFault {
    return new LexFault(offset, construct);
  }
}
