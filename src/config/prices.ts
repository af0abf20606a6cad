/** What tokens cost by model: the operator's price table, and which of its names a model goes by. No currency is meant. */

/** Per million tokens. */
export interface Price {
  readonly prompt: number;
  readonly completion: number;
}

export type Prices = ReadonlyMap<string, Price>;

/** The days that providers put behind a model's name: `-2024-08-06`, `-20250514`, `@20250514`. */
const DATED = /(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8})$/;

/** The price of exactly this name, else of the same name without its date; null where neither is there. */
export function priceOf(prices: Prices, model: string): Price | null {
  return prices.get(model) ?? prices.get(model.replace(DATED, '')) ?? null;
}

/** What these tokens would have cost; 0 for a model without a price. */
export function costOf(
  prices: Prices,
  tokens: { readonly model: string; readonly prompt: number; readonly completion: number },
): Price {
  const price = priceOf(prices, tokens.model);
  if (price === null) return { prompt: 0, completion: 0 };
  return {
    prompt: (tokens.prompt * price.prompt) / 1_000_000,
    completion: (tokens.completion * price.completion) / 1_000_000,
  };
}
