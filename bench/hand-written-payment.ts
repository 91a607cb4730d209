/**
 * What a person would write for one payment as a durable workflow of its own: send it, then ask until it is paid. The bench
 * compares a batch with so many of these; nothing else uses it.
 */
import { proxyActivities } from '@temporalio/workflow';

export type OnePayment = {
  readonly account: string;
  readonly currency: string;
  readonly amount: string;
  readonly reference: string;
};

export type PaymentActivities = {
  /** Answers the id of the record. */
  pay(payment: OnePayment): Promise<string>;
  untilPaid(id: string): Promise<void>;
};

const { pay, untilPaid } = proxyActivities<PaymentActivities>({
  startToCloseTimeout: '2m',
  retry: { initialInterval: '1s' },
});

export async function payOne(payment: OnePayment): Promise<void> {
  await untilPaid(await pay(payment));
}
