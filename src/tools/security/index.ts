/** The security tools, in the order they are listed. None of them approves, denies or sets anything. */
import type { Tool } from '#kernel/tool';
import { checkRequestStatus } from './check-request-status.ts';

export const securityTools: readonly Tool[] = [checkRequestStatus];
