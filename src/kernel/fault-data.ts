/** Faults across a thread or process border. */
import { Fault } from './errors.ts';

/** A fault as plain data, without its cause, which may not be cloneable. */
export interface FaultData {
  readonly code: string;
  readonly message: string;
  readonly audience: Fault['audience'];
  readonly retryable: boolean;
  readonly next?: string;
}

export function faultData(fault: Fault): FaultData {
  const { code, message, audience, retryable, next } = fault;
  return { code, message, audience, retryable, ...(next === undefined ? {} : { next }) };
}

export function faultFrom(data: FaultData): Fault {
  return new Fault(data.code, data.message, data);
}
