import { defineGuestLifecycle } from '../support/guest-lifecycle.ts';

export const startVm = defineGuestLifecycle({
  name: 'start_vm',
  title: 'Start VM',
  description:
    'Start a Proxmox VE virtual machine (qemu) and wait for the task to end. Returns the task exit status and the new state. A person approves each call first: it may answer pending with a request id; then call check_request_status and, once approved, repeat the same call.',
  guestType: 'qemu',
  action: 'start',
  impact: 'reversible',
  verb: 'Start',
  done: 'started',
});
