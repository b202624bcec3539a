"""A small shop in Django: six tables, and a driver that calls its views as visitors would.

    shop.py load CONNINFO           creates and fills the tables in the first schema of the role's search_path
    shop.py drive CONNINFO N SEED   serves N requests

What matters is what Django sends: its SQL, with constants in the text, in autocommit mode or in atomic blocks.
"""
import random
import sys
from datetime import timedelta

import django
from django.conf import settings


def database(conninfo):
    words = dict(word.split("=", 1) for word in conninfo.split())
    return {"ENGINE": "django.db.backends.postgresql", "NAME": words["dbname"], "USER": words["user"],
            "HOST": words["host"], "PORT": words["port"], "CONN_MAX_AGE": None}


settings.configure(DATABASES={"default": database(sys.argv[2])}, USE_TZ=True, INSTALLED_APPS=[],
                   DEFAULT_AUTO_FIELD="django.db.models.BigAutoField")
django.setup()

from django.db import connection, models, transaction  # noqa: E402
from django.db.models import Avg, Count, F, Sum  # noqa: E402
from django.utils import timezone  # noqa: E402


class Model(models.Model):
    class Meta:
        abstract = True
        app_label = "shop"


class Customer(Model):
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=100)
    seen = models.DateTimeField(null=True)

    class Meta(Model.Meta):
        db_table = "customer"


class Category(Model):
    name = models.CharField(max_length=50, unique=True)

    class Meta(Model.Meta):
        db_table = "category"


class Product(Model):
    category = models.ForeignKey(Category, models.PROTECT)
    name = models.CharField(max_length=100, db_index=True)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    stock = models.IntegerField()

    class Meta(Model.Meta):
        db_table = "product"


class Order(Model):
    customer = models.ForeignKey(Customer, models.PROTECT)
    placed = models.DateTimeField(db_index=True)
    paid = models.BooleanField(default=False)

    class Meta(Model.Meta):
        db_table = "purchase"


class Line(Model):
    order = models.ForeignKey(Order, models.CASCADE)
    product = models.ForeignKey(Product, models.PROTECT)
    quantity = models.IntegerField()
    price = models.DecimalField(max_digits=8, decimal_places=2)

    class Meta(Model.Meta):
        db_table = "line"


class Review(Model):
    product = models.ForeignKey(Product, models.CASCADE)
    customer = models.ForeignKey(Customer, models.CASCADE)
    stars = models.SmallIntegerField()
    text = models.TextField(blank=True)

    class Meta(Model.Meta):
        db_table = "review"


CUSTOMERS, CATEGORIES, PRODUCTS, ORDERS, REVIEWS = 2000, 20, 3000, 5000, 6000


def load():
    with connection.schema_editor() as editor:
        for model in (Customer, Category, Product, Order, Line, Review):
            editor.create_model(model)
    draw, now = random.Random(1), timezone.now()
    Customer.objects.bulk_create(
        Customer(email=f"customer{i}@example.com", name=f"Customer {i}") for i in range(CUSTOMERS))
    Category.objects.bulk_create(Category(name=f"Category {i}") for i in range(CATEGORIES))
    Product.objects.bulk_create(
        Product(category_id=1 + i % CATEGORIES, name=f"Product {i}", price=draw.randint(100, 99999) / 100, stock=10 ** 6)
        for i in range(PRODUCTS))
    Order.objects.bulk_create(
        Order(customer_id=draw.randint(1, CUSTOMERS), placed=now - timedelta(minutes=ORDERS - i), paid=i % 3 > 0)
        for i in range(ORDERS))
    Line.objects.bulk_create(
        Line(order_id=1 + i // 3, product_id=draw.randint(1, PRODUCTS), quantity=draw.randint(1, 5), price=10)
        for i in range(3 * ORDERS))
    Review.objects.bulk_create(
        Review(product_id=draw.randint(1, PRODUCTS), customer_id=draw.randint(1, CUSTOMERS), stars=draw.randint(1, 5),
               text=f"text {i}") for i in range(REVIEWS))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE customer, category, product, purchase, line, review")


def log_in(draw):
    customer = Customer.objects.get(email=f"customer{draw.randrange(CUSTOMERS)}@example.com")
    Customer.objects.filter(pk=customer.pk).update(seen=timezone.now())


def list_category(draw):
    list(Product.objects.filter(category_id=draw.randint(1, CATEGORIES)).order_by("price")[:20])


def show_product(draw):
    product = Product.objects.select_related("category").get(pk=draw.randint(1, PRODUCTS))
    list(product.review_set.select_related("customer").order_by("-pk")[:10])
    product.review_set.aggregate(Avg("stars"), Count("pk"))


def search(draw):
    list(Product.objects.filter(name__startswith=f"Product {draw.randint(10, 299)}").order_by("name")[:10])


def my_orders(draw):
    orders = Order.objects.filter(customer_id=draw.randint(1, CUSTOMERS)).order_by("-placed")[:10]
    list(orders.prefetch_related("line_set__product"))


def place_order(draw):
    with transaction.atomic():
        order = Order.objects.create(customer_id=draw.randint(1, CUSTOMERS), placed=timezone.now())
        for number in sorted(draw.sample(range(1, PRODUCTS + 1), 3)):
            product = Product.objects.select_for_update().get(pk=number)
            Line.objects.create(order=order, product=product, quantity=1, price=product.price)
            Product.objects.filter(pk=number).update(stock=F("stock") - 1)


def pay(draw):
    Order.objects.filter(pk=draw.randint(1, ORDERS), paid=False).update(paid=True)


def review(draw):
    Review.objects.create(product_id=draw.randint(1, PRODUCTS), customer_id=draw.randint(1, CUSTOMERS),
                          stars=draw.randint(1, 5), text="good")


def withdraw_review(draw):
    Review.objects.filter(pk=draw.randint(1, REVIEWS)).delete()


def best_sellers(draw):
    list(Line.objects.filter(product__category_id=draw.randint(1, CATEGORIES)).values("product__name")
         .annotate(sold=Sum("quantity")).order_by("-sold")[:5])


VIEWS = {log_in: 10, list_category: 15, show_product: 30, search: 10, my_orders: 10, place_order: 10, pay: 4, review: 5,
         withdraw_review: 3, best_sellers: 2}


def drive(requests, seed):
    draw = random.Random(seed)
    for view in draw.choices(list(VIEWS), VIEWS.values(), k=requests):
        view(draw)


if sys.argv[1] == "load":
    load()
else:
    drive(int(sys.argv[3]), int(sys.argv[4]))
