/** An answer that is not 200, in PVE's words (`PVE/Exception.pm`). The status line carries the message's first line. */
export class ApiError extends Error {
  readonly status: number;
  /** Parameter → why, for 400. */
  readonly errors: Readonly<Record<string, string>> | undefined;

  constructor(status: number, message: string, errors?: Readonly<Record<string, string>>) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

/** What `die "…\n"` in a handler becomes. */
export function failed(message: string): ApiError {
  return new ApiError(500, `${message}\n`);
}

/** `raise_param_exc`: 400 with one reason per parameter. */
export function badParameters(errors: Readonly<Record<string, string>>): ApiError {
  return new ApiError(400, 'Parameter verification failed.\n', errors);
}

/** `raise_perm_exc`: 403. @param what usually `path, privilege` */
export function forbidden(what?: string): ApiError {
  return new ApiError(403, `Permission check failed${what === undefined ? '' : ` (${what})`}\n`);
}

/** The answer of a node that could not be reached by the one that was asked: 59x, no body (`AnyEvent::HTTP`). */
export class ProxyError extends Error {
  readonly status: 595 | 596 | 599;

  constructor(status: 595 | 596 | 599, reason: string) {
    super(reason);
    this.status = status;
  }
}
