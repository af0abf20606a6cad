/** Whether a header says that a body is JSON in UTF-8. */

/** `value` is the one content type of a request. */
export function saysJson(value: string): boolean {
  const [type = '', ...parameters] = value.toLowerCase().split(';');
  return type.trim() === 'application/json' && parameters.every((parameter) => isUtf8Charset(parameter.trim()));
}

function isUtf8Charset(parameter: string): boolean {
  return parameter === '' || parameter === 'charset=utf-8' || parameter === 'charset="utf-8"';
}
