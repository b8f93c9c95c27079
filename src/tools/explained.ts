/** Code of a `RuntimeError` whose text explains something to the model and counts as no error. */
export const explained = 'explained'
