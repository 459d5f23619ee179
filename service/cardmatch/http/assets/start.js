window.ui = SwaggerUIBundle({
  url: document.currentScript.dataset.document,
  dom_id: "#document",
  deepLinking: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
});
