/**
 * The same metrics in both of Prometheus's text formats: the plain one, and OpenMetrics for whoever asks for it, which has
 * exemplars. Owns what prom-client needs for that.
 */
import { Registry, type OpenMetricsContentType } from 'prom-client';

export interface Registries {
  readonly plain: Registry;
  readonly openMetrics: Registry<OpenMetricsContentType>;
}

export function createRegistries(): Registries {
  const openMetrics = new Registry<OpenMetricsContentType>();
  openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return { plain: new Registry(), openMetrics };
}

/**
 * Puts the metrics of each registry into the other one too; once, when all are made. prom-client writes OpenMetrics by taking
 * `_total` off the counters' names for good, so it gets objects of its own for that.
 */
export function shareMetrics({ plain, openMetrics }: Registries): void {
  const exemplary = openMetrics.getMetricsAsArray().map(({ name }) => name);
  for (const { name } of plain.getMetricsAsArray()) {
    const metric = plain.getSingleMetric(name);
    if (metric !== undefined) openMetrics.registerMetric(Object.create(metric) as typeof metric);
  }
  for (const name of exemplary) {
    const metric = openMetrics.getSingleMetric(name);
    if (metric !== undefined) plain.registerMetric(metric);
  }
}

/** Whether an `accept` header asks for OpenMetrics, and not less than for plain text. */
export function asksForOpenMetrics(accept: string): boolean {
  const weight = weightOf(accept, 'application/openmetrics-text');
  return weight > 0 && weight >= weightOf(accept, 'text/plain');
}

/** RFC 9110, section 12.5.1, without ranges; 0 where the type is not named. */
function weightOf(accept: string, type: string): number {
  const named = accept
    .toLowerCase()
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()))
    .filter(([name]) => name === type);
  const weights = named.map(([, ...parameters]) => {
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  });
  return Math.max(0, ...weights);
}
