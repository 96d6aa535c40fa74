import { defineGuestLifecycle } from '../support/guest-lifecycle.ts';

export const stopVm = defineGuestLifecycle({
  name: 'stop_vm',
  title: 'Stop VM',
  description:
    'Hard-stop a Proxmox VE virtual machine (qemu), like pulling the plug, and wait for the task to end. Returns the task exit status and the new state. Not for containers: use stop_container. A person approves each call first: it may answer pending with a request id; then call check_request_status and, once approved, repeat the same call.',
  guestType: 'qemu',
  action: 'stop',
  impact: 'disruptive',
  verb: 'Stop',
  done: 'stopped',
});
