/**
 * Temporal's client for schedules. An update counts only while the schedule is still as it was read, so that it does not
 * undo what a person does at the same moment, such as a pause. The SDK's own update sends no token, though the server
 * compares one.
 */
import { ScheduleClient, type Client } from '@temporalio/client';

type Service = ScheduleClient['workflowService'];

export class CarefulScheduleClient extends ScheduleClient {
  #token: Uint8Array | null = null;

  constructor({ connection, options }: Client) {
    const { namespace, identity, dataConverter } = options;
    super({ connection, namespace, identity, ...(dataConverter !== undefined && { dataConverter }) });
  }

  protected override async _describeSchedule(
    scheduleId: string,
  ): ReturnType<ScheduleClient['_describeSchedule']> {
    // oxlint-disable-next-line no-underscore-dangle -- the SDK calls it so
    const described = await super._describeSchedule(scheduleId);
    this.#token = described.conflictToken ?? null;
    return described;
  }

  override get workflowService(): Service {
    const service = super.workflowService;
    const update = (
      request: Parameters<Service['updateSchedule']>[0],
    ): ReturnType<Service['updateSchedule']> =>
      service.updateSchedule({ ...request, conflictToken: this.#token });
    return new Proxy(service, {
      get: (target, name) => (name === 'updateSchedule' ? update : Reflect.get(target, name, target)),
    });
  }
}
