// Metrics of several processes as one.

import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { Measurements } from './measures.ts';

function worker(requests: number, open: number) {
  const registry = new Registry();
  const registers = [registry];
  new Counter({ name: 'requests_total', help: 'r', registers }).inc(requests);
  new Gauge({ name: 'open', help: 'o', registers }).set(open);
  new Histogram({ name: 'seconds', help: 's', buckets: [1], registers }).observe(requests);
  return registry.getMetricsAsJSON();
}

const linesOf = async (registry: Registry) =>
  (await registry.metrics()).split('\n').filter((line) => /^[a-z]/.test(line));

test('counters keep what ended workers have counted, gauges do not', async () => {
  const measurements = new Measurements();
  measurements.add(await worker(5, 7));
  measurements.add(await worker(0.5, 3));
  const sum = await measurements.sum(async () => [await worker(2, 1), await worker(3, 4)]);
  expect(await linesOf(sum)).toEqual([
    'requests_total 10.5',
    'open 5',
    'seconds_bucket{le="1"} 1',
    'seconds_bucket{le="+Inf"} 4',
    'seconds_sum 10.5',
    'seconds_count 4',
  ]);
});

test('a worker that ends while it is read counts once', async () => {
  const measurements = new Measurements();
  const sum = await measurements.sum(async () => {
    const last = await worker(5, 1);
    measurements.add(last);
    return [last];
  });
  expect((await linesOf(sum))[0]).toBe('requests_total 5');
  expect((await linesOf(await measurements.sum(async () => [])))[0]).toBe('requests_total 5');
});
