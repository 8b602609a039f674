// What an app of yours fills in.
export default {
  title: 'Clinic',
  // `sealpost signing-keys list` shows them: the key in use and the next. Without keys, whoever ends TLS can make up answers.
  keys: [],
};
