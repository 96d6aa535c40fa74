/** A small interpreter of classic BPF as the kernel runs it for seccomp: the filter is tested by what it answers, not by its bytes. */

export interface SystemCall {
  readonly number: number;
  readonly architecture: number;
  readonly args?: readonly number[];
}

/** @returns the 32-bit answer. @throws {Error} on an instruction that the kernel would refuse, a jump out of the program included */
export function runFilter(program: Buffer, call: SystemCall): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number >>> 0, 0);
  data.writeUInt32LE(call.architecture >>> 0, 4);
  for (const [index, value] of (call.args ?? []).entries()) data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; ; at += 8) {
    if (at + 8 > program.length) throw new Error(`jumped out of the program at ${at / 8}`);
    const [code, whenTrue, whenFalse, value] = [program.readUInt16LE(at), program[at + 2]!, program[at + 3]!, program.readUInt32LE(at + 4)];
    if (code === 0x06) return value;
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else at += 8 * (holds(code, accumulator, value) ? whenTrue : whenFalse);
  }
}

function holds(code: number, accumulator: number, value: number): boolean {
  if (code === 0x15) return accumulator === value;
  if (code === 0x35) return accumulator >= value;
  if (code === 0x45) return (accumulator & value) !== 0;
  throw new Error(`unknown instruction ${code.toString(16)}`);
}
