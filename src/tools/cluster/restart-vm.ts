import { defineGuestLifecycle } from '../support/guest-lifecycle.ts';

export const restartVm = defineGuestLifecycle({
  name: 'restart_vm',
  title: 'Restart VM',
  description:
    'Reboot a running Proxmox VE virtual machine (qemu) and wait for the task to end. Returns the task exit status and the new state. A person approves each call first: it may answer pending with a request id; then call check_request_status and, once approved, repeat the same call.',
  guestType: 'qemu',
  action: 'reboot',
  impact: 'disruptive',
  verb: 'Restart',
  done: 'restarted',
});
